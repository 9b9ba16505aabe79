#include "certificates.hpp"

#include <stdexcept>
#include <vector>

namespace servers {

certificates::certificates() {
  make("authority", "/CN=authority", {});
  make("other", "/CN=other authority", {});
  make("server", "/CN=localhost",
       {"-CA", authority(), "-CAkey", file("authority.key"), "-addext",
        "subjectAltName=DNS:localhost"});
}

void certificates::make(const std::string& name, const std::string& subject,
                        const std::vector<std::string>& arguments) const {
  const auto openssl = program();
  if (!openssl) {
    throw std::runtime_error("openssl is not installed");
  }
  const std::string base = (folder_.path() / name).string();
  std::vector<std::string> words{*openssl,
                                 "req",
                                 "-x509",
                                 "-newkey",
                                 "ec",
                                 "-pkeyopt",
                                 "ec_paramgen_curve:prime256v1",
                                 "-nodes",
                                 "-days",
                                 "2",
                                 "-subj",
                                 subject,
                                 "-keyout",
                                 base + ".key",
                                 "-out",
                                 base + ".pem"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  run_program(words, folder_.path() / "log");
}

}  // namespace servers
