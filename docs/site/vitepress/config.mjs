// The site of Lido's documentation. pages.py writes site.json and the pages beside it.
import { readFileSync } from 'node:fs'

const site = JSON.parse(readFileSync(new URL('./site.json', import.meta.url), 'utf8'))

export default {
  title: 'Lido',
  description: 'Thread-safe object pools for C++20: jobs, particles, connections, blocks',
  lang: 'en-GB',
  base: process.env.LIDO_SITE_BASE ?? '/',
  cleanUrls: false,
  ignoreDeadLinks: ['/report/index'],
  metaChunk: true,
  head: [['link', { rel: 'icon', href: 'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 32 32%22%3E%3Cellipse cx=%2216%22 cy=%2216%22 rx=%2214%22 ry=%229%22 fill=%22%230b5f8a%22/%3E%3C/svg%3E' }]],
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    // The anchors of a forge.
    anchor: { slugify: (text) => text.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-') },
    config: (md) => {
      // Braces in code are no template.
      const code = md.renderer.rules.code_inline
      md.renderer.rules.code_inline = (...all) => code(...all).replace(/^<code/, '<code v-pre')
    }
  },
  themeConfig: {
    nav: [
      { text: 'Documentation', link: '/docs/index', activeMatch: '^/docs/' },
      { text: 'API', link: '/api/index', activeMatch: '^/api/' },
      { text: `Version ${site.version}`, link: '/CHANGELOG' }
    ],
    sidebar: { '/api/': site.reference, '/': site.documents },
    search: {
      provider: 'local',
      options: {
        detailedView: 'auto',
        // Names such as acquire_for are one word; a part of a name finds it, too.
        miniSearch: {
          options: { tokenize: (text) => text.split(/[^\p{L}\p{N}_]+/u).flatMap((word) => [word, ...(word.includes('_') ? word.split('_') : [])]).filter(Boolean) },
          searchOptions: { boost: { title: 4, titles: 2, text: 1 }, prefix: true, fuzzy: 0.1 }
        }
      }
    },
    outline: { level: [2, 3] },
    lastUpdated: { text: 'Last changed', formatOptions: { dateStyle: 'long' } },
    docFooter: { prev: 'Before', next: 'Next' }
  }
}
