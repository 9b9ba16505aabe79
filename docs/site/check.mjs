// Opens the built site in Chromium as readers would: search, links, widths, contrast, keyboard. Takes screenshots.
// usage: check.mjs SITE BASE [SHOTS]    BASE: folder of the server that has the site, such as / or /lido/
// Without SHOTS it only checks the links, and that the front page loads all its files.
import { createServer } from 'node:http'
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { extname, join, relative, resolve } from 'node:path'

const [site, base, shots] = process.argv.slice(2).map((each, index) => index === 1 ? each : resolve(each))
const require = createRequire(resolve(site, '../site-tools/package.json'))
const puppeteer = (await import(require.resolve('puppeteer-core'))).default
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.png': 'image/png', '.webp': 'image/webp', '.json': 'application/json' }
const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)
if (!chromium) throw new Error('no Chromium')

const failures = []
const fail = (text) => failures.push(text)

const server = createServer((request, response) => {
  const path = decodeURIComponent(new URL(request.url, 'http://127.0.0.1').pathname)
  const file = join(site, `/${path}${path.endsWith('/') ? 'index.html' : ''}`.slice(base.length))
  if (!path.startsWith(base) || !file.startsWith(site) || !existsSync(file) || statSync(file).isDirectory()) {
    response.writeHead(404).end()
    return
  }
  response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' }).end(readFileSync(file))
})
await new Promise((done) => server.listen(0, '127.0.0.1', done))
const origin = `http://127.0.0.1:${server.address().port}`
const root = origin + base.replace(/\/$/, '')

function* pages(folder = site) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) yield* pages(join(folder, entry.name))
    else if (entry.name.endsWith('.html')) yield join(folder, entry.name)
  }
}

// Every link of every page leads to a file, and every anchor to an element. The files of images and scripts exist.
function checkLinks() {
  const ids = new Map()
  const idsOf = (file) => {
    if (!ids.has(file)) ids.set(file, new Set([...readFileSync(file, 'utf8').matchAll(/ id="([^"]+)"/g)].map((match) => match[1])))
    return ids.get(file)
  }
  let links = 0
  for (const file of pages()) {
    for (const [, name, value] of readFileSync(file, 'utf8').replace(/(<script\b[^>]*>)[^]*?<\/script>/g, '$1').matchAll(/ (href|src|srcset)="([^"]+)"/g)) {
      for (const link of name === 'srcset' ? value.split(',').map((each) => each.trim().split(' ')[0]) : [value]) {
        if (/^(mailto:|data:)/.test(link)) continue
        const url = new URL(link.replaceAll('&amp;', '&'), `${root}/${relative(site, file)}`)
        if (url.origin !== origin) {
          if (name !== 'href' || !/^https?:/.test(url.protocol)) fail(`${relative(site, file)}: odd link ${link}`)
          continue
        }
        ++links
        const path = `/${decodeURIComponent(url.pathname).slice(base.length)}`
        const target = url.pathname.startsWith(base) && [join(site, path), join(site, path, 'index.html'), join(site, `${path}.html`)].find((each) => existsSync(each) && !statSync(each).isDirectory())
        if (!target) fail(`${relative(site, file)}: dead link ${link}`)
        else if (url.hash && target.endsWith('.html') && !idsOf(target).has(decodeURIComponent(url.hash.slice(1)))) fail(`${relative(site, file)}: dead anchor ${link}`)
      }
    }
  }
  return links
}

if (shots) mkdirSync(shots, { recursive: true })
const browser = await puppeteer.launch({ executablePath: chromium, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] })
const context = browser.defaultBrowserContext()
await context.overridePermissions(origin, ['clipboard-read', 'clipboard-write', 'clipboard-sanitized-write'])

async function newTab() {
  const tab = await browser.newPage()
  tab.on('console', (message) => ['error', 'warn'].includes(message.type()) && fail(`console at ${tab.url()}: ${message.text()}`))
  tab.on('pageerror', (error) => fail(`error at ${tab.url()}: ${error.message}`))
  tab.on('request', (request) => !/^(data:|blob:)/.test(request.url()) && !request.url().startsWith(root) && fail(`network: ${request.url()}`))
  return tab
}

const page = await newTab()
const open = async (path, width = 1280, dark = false) => {
  await page.setViewport({ width, height: 900 })
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }])
  await page.goto(`${root}/${path}`, { waitUntil: 'networkidle0' })
}

// Width, contrast, and what else axe knows of pages that everybody can read.
async function checkTab(tab, path, width, dark) {
  const what = `${path} ${width}${dark ? ' dark' : ''}`
  const broad = await tab.evaluate(() => document.documentElement.scrollWidth)
  if (broad > width) fail(`${what}: ${broad} pixels wide`)
  await tab.evaluate(axe)
  const found = await tab.evaluate(() => window.axe.run({ runOnly: ['color-contrast', 'image-alt', 'link-name', 'button-name', 'document-title', 'html-has-lang', 'aria-valid-attr'] }))
  for (const each of found.violations) {
    for (const node of each.nodes.slice(0, 3)) fail(`${what}: ${each.id}: ${node.html.slice(0, 140)} ${node.any[0]?.message ?? ''}`)
  }
}

const looked = ['index.html', 'docs/index.html', 'docs/how-to/pool-connections.html', 'docs/reference/options.html', 'docs/explanation/benchmarks.html',
  'docs/tutorial/job-pool.html', 'api/index.html', 'api/lido-resource_pool.html', 'api/lido.html', 'CHANGELOG.html']

async function checkLooks() {
  for (const path of looked) {
    const name = path.replaceAll('/', '-').replace('.html', '')
    for (const [width, dark] of [[1280, false], [1280, true], [360, false]]) {
      await open(path, width, dark)
      await checkTab(page, path, width, dark)
      await page.screenshot({ path: join(shots, `${name}-${width}${dark ? '-dark' : ''}.png`) })
    }
  }
}

// The other pages of the documentation, and a dozen of the API, on a narrow screen. Several tabs share the work.
async function checkNarrow() {
  const all = [...pages()].map((file) => relative(site, file)).sort().filter((path) => !looked.includes(path))
  const api = all.filter((path) => path.startsWith('api/'))
  const wanted = [...all.filter((path) => path.startsWith('docs/')), ...api.filter((_, index) => index % Math.ceil(api.length / 12) === 0)]
  let next = 0
  let dated = 0
  await Promise.all(Array.from({ length: 4 }, async () => {
    const tab = await newTab()
    await tab.setViewport({ width: 360, height: 900 })
    while (next < wanted.length) {
      const path = wanted[next++]
      await tab.goto(`${root}/${path}`, { waitUntil: 'networkidle0' })
      await checkTab(tab, path, 360, false)
      dated += await tab.evaluate(() => /20\d\d/.test(document.querySelector('.VPLastUpdated, .last-updated')?.textContent))
    }
    await tab.close()
  }))
  if (!dated && existsSync('.git')) fail('no page shows when it was changed')
  return wanted.length
}

async function checkSearch() {
  for (const [words, wanted] of [['acquire_for', /acquire_for/], ['max_capacity', /max_capacity/], ['failover', /survive-a-failover/]]) {
    await open('index.html')
    await page.keyboard.down('Control')
    await page.keyboard.press('k')
    await page.keyboard.up('Control')
    await page.waitForSelector('#localsearch-input', { timeout: 10000 })
    await page.type('#localsearch-input', words)
    await page.waitForSelector('.results .result', { timeout: 10000 })
    await new Promise((done) => setTimeout(done, 500))
    await page.screenshot({ path: join(shots, `search-${words}.png`) })
    const links = await page.$$eval('.results .result', (all) => all.map((each) => each.getAttribute('href')))
    const at = links.findIndex((link) => wanted.test(link))
    if (at < 0 || at > 4) {
      fail(`search for ${words}: not among the first five of ${links.slice(0, 5)}`)
      continue
    }
    for (let i = 0; i < at; ++i) await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForFunction((link) => location.pathname + location.hash === link || location.hash === new URL(link, location).hash, { timeout: 10000 }, links[at])
    await new Promise((done) => setTimeout(done, 300))
    const seen = await page.evaluate(() => { const to = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1))); return !location.hash || (to && Math.abs(to.getBoundingClientRect().top) < innerHeight) })
    if (!seen) fail(`search for ${words}: the entry is not on the screen`)
  }
}

async function checkCopy() {
  await open('index.html')
  const programs = await page.$$('main div[class*=language-] button.copy')
  if (programs.length < 3) fail(`the front page has ${programs.length} programs to copy`)
  await programs[0]?.evaluate((button) => button.click())
  await new Promise((done) => setTimeout(done, 300))
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  if (!copied.includes('int main()') || !copied.includes('#include <lido/object_pool.hpp>')) fail(`copied: ${copied.slice(0, 80)}`)
}

// The tab key reaches the search, the navigation and the side bar, and each shows that it has the focus.
async function checkKeyboard() {
  await open('docs/index.html')
  const reached = new Set()
  for (let i = 0; i < 40; ++i) {
    await page.keyboard.press('Tab')
    const at = await page.evaluate(() => {
      const now = document.activeElement
      const style = getComputedStyle(now)
      return { what: now.closest('.VPSidebar') ? 'side bar' : now.closest('.VPNavBarSearch') ? 'search' : now.closest('.VPNavBar') ? 'navigation' : now.className.includes('VPSkipLink') ? 'skip' : 'page',
        ring: style.outlineStyle !== 'none' || style.boxShadow !== 'none' || now.className.includes('VPSkipLink') }
    })
    reached.add(at.what)
    if (!at.ring) fail(`keyboard: no ring in ${at.what}`)
  }
  for (const what of ['search', 'navigation', 'side bar']) if (!reached.has(what)) fail(`keyboard: ${what} is not reached`)
}

try {
  const links = checkLinks()
  if (!shots) {
    await open('index.html')
    await page.waitForSelector('main h1')
  } else {
    await checkSearch()
    await checkCopy()
    await checkKeyboard()
    await checkLooks()
    const narrow = await checkNarrow()
    console.log(`${[...pages()].length} pages, ${links} links, ${narrow + looked.length} looked at, ${looked.length * 3} screenshots in ${shots}`)
  }
} finally {
  await browser.close()
  server.close()
}
for (const each of new Set(failures)) console.error(`site: ${each}`)
process.exit(failures.length ? 1 : 0)
