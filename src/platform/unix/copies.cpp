// Lets the copies of the library in one process find one another. Each file that contains a copy
// has a part with a known name (a note in ELF, a section in Mach-O). The loader lists all files.
// With other formats, each copy finds only itself.
#if defined(__ELF__)
#include <link.h>
#elif defined(__APPLE__)
#include <mach-o/dyld.h>
#include <mach-o/loader.h>
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../platform.hpp"

extern "C" {
// The word is hidden, so that the linker knows its distance from the note. The word is not static,
// so that the assembly below can refer to it by this name.
#ifdef __APPLE__
[[gnu::section("__DATA,__lido_copy")]]
#endif
[[gnu::visibility("hidden"), gnu::used]] alignas(
    std::uintptr_t) constinit std::array<std::byte, sizeof(std::uintptr_t)> lido_copy_word{};
}

#ifdef __ELF__
// Copies of other versions read the note, so its name, its type and its content must never change.
// The content is the distance from the content itself to the word. A new kind of note must get
// another type.
// NOLINTNEXTLINE(hicpp-no-assembler): no expression of C++ yields the distance
asm(R"(
        .pushsection .note.lido, "a", %note
        .balign 4
        .long 5, 4, 1
        .asciz "lido"
        .balign 4
        .long lido_copy_word - .
        .popsection
)");
#endif

namespace lido::inline v0::detail::platform {

void* own_copy_word() noexcept {
  return lido_copy_word.data();
}

#if defined(__ELF__)

namespace {

constexpr std::array note_name{'l', 'i', 'd', 'o', '\0'};
constexpr std::uint32_t note_type = 1;
constexpr std::size_t note_alignment = 4;

struct visitor {
  void (*visit)(void* word, void* context);
  void* context;
};

constexpr std::size_t padded(std::size_t bytes) noexcept {
  return (bytes + note_alignment - 1) / note_alignment * note_alignment;
}

void visit_notes(const std::byte* at, std::size_t bytes, const visitor& caller) noexcept {
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header{};
    std::memcpy(&header, at, sizeof(header));
    const std::byte* const name = at + sizeof(header);
    const std::size_t before = sizeof(header) + padded(header.n_namesz);
    const std::size_t size = before + padded(header.n_descsz);
    if (size > bytes) {
      return;
    }
    if (header.n_type == note_type && header.n_namesz == note_name.size() &&
        std::memcmp(name, note_name.data(), note_name.size()) == 0) {
      std::int32_t distance = 0;
      std::memcpy(&distance, at + before, sizeof(distance));
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the word is not part of the note
      caller.visit(const_cast<std::byte*>(at + before) + distance, caller.context);
    }
    at += size;
    bytes -= size;
  }
}

int visit_object(dl_phdr_info* object, std::size_t /*size*/, void* caller) noexcept {
  for (std::size_t i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type == PT_NOTE && segment.p_align <= note_alignment) {
      // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast,performance-no-int-to-ptr)
      const auto* const notes =
          reinterpret_cast<const std::byte*>(object->dlpi_addr + segment.p_vaddr);
      // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast,performance-no-int-to-ptr)
      visit_notes(notes, segment.p_memsz, *static_cast<const visitor*>(caller));
    }
  }
  return 0;
}

}  // namespace

void visit_copies(void (*visit)(void* word, void* context), void* context) noexcept {
  visitor caller{visit, context};
  (void)::dl_iterate_phdr(&visit_object, &caller);
}

#elif defined(__APPLE__)

// Declared in <mach-o/getsect.h>, which not all cross compilers have.
extern "C" std::uint8_t* getsectiondata(const mach_header_64* file, const char* segment,
                                        const char* section, unsigned long* size);

// The loader offers no lock for this loop, so no thread may unload a library during the call.
void visit_copies(void (*visit)(void* word, void* context), void* context) noexcept {
  for (std::uint32_t image = 0; image < _dyld_image_count(); ++image) {
    unsigned long size = 0;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the calls have other types
    const auto* const file = reinterpret_cast<const mach_header_64*>(_dyld_get_image_header(image));
    std::uint8_t* const word =
        file == nullptr ? nullptr : getsectiondata(file, "__DATA", "__lido_copy", &size);
    if (word != nullptr && size >= lido_copy_word.size()) {
      visit(word, context);
    }
  }
}

#else

void visit_copies(void (*visit)(void* word, void* context), void* context) noexcept {
  visit(own_copy_word(), context);
}

#endif

}  // namespace lido::inline v0::detail::platform
