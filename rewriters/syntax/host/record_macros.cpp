// What the preprocessor does to a whole file, noted while it runs: see MacroRecord.
#include <memory>

#include "rewriters/syntax/host/device_code.h"

namespace hone::syntax::host {
namespace {

class Recorder : public clang::PPCallbacks {
 public:
  Recorder(clang::SourceManager& sources, MacroRecord& record)
      : sources_(sources), record_(record) {}

  void MacroExpands(const clang::Token& name, const clang::MacroDefinition& definition,
                    clang::SourceRange range, const clang::MacroArgs*) override {
    const int at = offset(range.getBegin());
    if (at < 0 || name.getIdentifierInfo() == nullptr) return;
    record_.uses.push_back({static_cast<unsigned>(at), name.getIdentifierInfo()->getName().str(),
                            definition.getMacroInfo()});
  }
  void SourceRangeSkipped(clang::SourceRange range, clang::SourceLocation) override {
    const int begin = offset(range.getBegin());
    const int end = offset(range.getEnd());
    if (begin >= 0 && end > begin)
      record_.skipped.emplace_back(static_cast<unsigned>(begin), static_cast<unsigned>(end));
  }
  void If(clang::SourceLocation at, clang::SourceRange, ConditionValueKind) override { note(at); }
  void Elif(clang::SourceLocation at, clang::SourceRange, ConditionValueKind,
            clang::SourceLocation) override {
    note(at);
  }
  void Ifdef(clang::SourceLocation at, const clang::Token&,
             const clang::MacroDefinition&) override {
    note(at);
  }
  void Ifndef(clang::SourceLocation at, const clang::Token&,
              const clang::MacroDefinition&) override {
    note(at);
  }
  void Else(clang::SourceLocation at, clang::SourceLocation) override { note(at); }
  void Endif(clang::SourceLocation at, clang::SourceLocation) override { note(at); }

 private:
  int offset(clang::SourceLocation location) const {
    if (location.isInvalid()) return -1;
    const auto [file, at] = sources_.getDecomposedLoc(sources_.getExpansionLoc(location));
    return file == sources_.getMainFileID() ? static_cast<int>(at) : -1;
  }
  void note(clang::SourceLocation location) {
    if (const int at = offset(location); at >= 0)
      record_.directives.insert(static_cast<unsigned>(at));
  }

  clang::SourceManager& sources_;
  MacroRecord& record_;
};

}  // namespace

std::unique_ptr<clang::PPCallbacks> record_macros(clang::Preprocessor& preprocessor,
                                                  MacroRecord& record) {
  return std::make_unique<Recorder>(preprocessor.getSourceManager(), record);
}

}  // namespace hone::syntax::host
