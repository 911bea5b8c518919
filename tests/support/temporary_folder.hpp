// TemporaryFolder: a folder of a test's own, gone with everything in it when the test is over.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace hawser::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hawser_test_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw std::filesystem::filesystem_error("mkdtemp", pattern, {errno, std::generic_category()});
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Writes the file NAME, a path below the folder, and returns its whole path.
  std::string write(const std::filesystem::path& name, const std::string& text) const {
    std::filesystem::path made = path_ / name.relative_path();
    std::filesystem::create_directories(made.parent_path());
    std::ofstream(made) << text;
    return made.string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace hawser::test
