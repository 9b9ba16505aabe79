#include "corpus.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <system_error>

#include "printable.hpp"

namespace demo {
namespace {

namespace fs = std::filesystem;

void require_folder(const fs::path& root) {
  if (root.empty()) {
    throw input_error("the path is empty");
  }
  std::error_code error;
  const fs::file_status status = fs::status(root, error);
  if (status.type() == fs::file_type::not_found) {
    throw input_error(printable(root.string()) + " does not exist");
  }
  if (error) {
    throw input_error(printable(root.string()) + " cannot be read: " + error.message());
  }
  if (!fs::is_directory(status)) {
    throw input_error(printable(root.string()) + " is not a folder");
  }
  const fs::directory_iterator first(root, error);
  if (error) {
    throw input_error(printable(root.string()) + " cannot be read: " + error.message());
  }
}

struct listing {
  std::vector<fs::path> files;
  std::size_t skipped_folders = 0;
};

void list_folder(const fs::path& folder, std::vector<fs::path>& open_folders, listing& found) {
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code unknown;  // a vanished entry is neither file nor folder
    const fs::file_type type = entry->symlink_status(unknown).type();
    if (type == fs::file_type::directory) {
      open_folders.push_back(entry->path());
    } else if (type == fs::file_type::regular) {
      found.files.push_back(entry->path());
    }
  }
  found.skipped_folders += error ? 1U : 0U;
}

listing list_files(const fs::path& root) {
  listing found;
  std::vector<fs::path> open_folders{root};
  while (!open_folders.empty()) {
    const fs::path folder = std::move(open_folders.back());
    open_folders.pop_back();
    list_folder(folder, open_folders, found);
  }
  std::sort(found.files.begin(), found.files.end(),
            [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); });
  return found;
}

std::optional<std::string> read_file(const fs::path& path, std::uint64_t most) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  std::ifstream stream(path, std::ios::binary);
  if (error || !stream) {
    return std::nullopt;
  }
  std::string text(static_cast<std::size_t>(std::min<std::uintmax_t>(size, most)), '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) {
    return std::nullopt;
  }
  text.resize(static_cast<std::size_t>(stream.gcount()));  // the file may have shrunk
  return text;
}

/// Gives every extension a small number.
class type_table {
 public:
  explicit type_table(std::vector<std::string>& names) : names_(names) {}

  std::uint32_t number_of(const fs::path& path) {
    std::string name = path.extension().string();
    if (name.empty()) {
      name = "(none)";
    }
    const auto [place, is_new] =
        numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) {
      names_.push_back(std::move(name));
    }
    return place->second;
  }

 private:
  std::vector<std::string>& names_;
  std::map<std::string, std::uint32_t> numbers_;
};

void read_files(const listing& found, std::uint64_t limit, corpus& into, progress& shown) {
  type_table types(into.types);
  for (std::size_t i = 0; i < found.files.size(); ++i) {
    if (into.bytes == limit) {
      into.left_out = found.files.size() - i;
      break;
    }
    shown.at(i, found.files.size());
    std::optional<std::string> text = read_file(found.files[i], limit - into.bytes);
    if (!text) {
      ++into.skipped_files;
      continue;
    }
    into.bytes += text->size();
    std::error_code gone;
    into.cut = into.bytes == limit && fs::file_size(found.files[i], gone) > text->size();
    into.files.push_back({std::move(*text), types.number_of(found.files[i])});
  }
}

}  // namespace

corpus read_corpus(const fs::path& root, std::uint64_t limit, progress& shown) {
  require_folder(root);
  shown.phase("reading " + printable(root.string()));
  const listing found = list_files(root);
  corpus result;
  result.skipped_folders = found.skipped_folders;
  read_files(found, limit, result, shown);
  if (result.bytes == 0) {
    throw input_error(printable(root.string()) + " holds no text to read (" +
                      std::to_string(found.files.size()) + " files, " +
                      std::to_string(result.skipped_files + result.skipped_folders) +
                      " entries could not be read)");
  }
  return result;
}

}  // namespace demo
