/// @file
/// Certificates for servers with TLS, made by openssl in a temporary folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "server_process.hpp"

namespace servers {

/// An authority, a certificate for the name `localhost` that it has signed, and a second authority
/// that has signed nothing.
class certificates {
 public:
  [[nodiscard]] static std::optional<std::string> program() { return find_program("openssl"); }

  /// Throws std::runtime_error.
  certificates();

  [[nodiscard]] std::string authority() const { return file("authority.pem"); }
  [[nodiscard]] std::string other_authority() const { return file("other.pem"); }
  [[nodiscard]] std::string certificate() const { return file("server.pem"); }
  [[nodiscard]] std::string key() const { return file("server.key"); }

 private:
  [[nodiscard]] std::string file(const char* name) const {
    return (folder_.path() / name).string();
  }
  /// Makes a certificate called `name`, and its key. `arguments` are further ones of openssl.
  void make(const std::string& name, const std::string& subject,
            const std::vector<std::string>& arguments) const;

  temporary_folder folder_{"certificates"};
};

}  // namespace servers
