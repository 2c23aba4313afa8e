#include "rewriters/syntax/host/read_unit.h"

#include <clang/AST/ASTConsumer.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendAction.h>
#include <fmt/format.h>

#include <algorithm>

#include "rewriters/syntax/ast_walk.h"
#include "rewriters/syntax/clang_run.h"
#include "rewriters/syntax/host/device_code.h"
#include "rewriters/syntax/host/host_prelude.h"
#include "rewriters/syntax/host/host_runner.h"

namespace hone::syntax {
namespace {

struct Complaint {
  int offset = -1;  ///< in the main file
  std::string place;
  std::string message;
};

class Complaints : public clang::DiagnosticConsumer {
 public:
  std::vector<Complaint> all;

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                        const clang::Diagnostic& info) override {
    clang::DiagnosticConsumer::HandleDiagnostic(level, info);
    if (level < clang::DiagnosticsEngine::Error || all.size() > 10'000) return;
    Complaint complaint;
    llvm::SmallString<256> text;
    info.FormatDiagnostic(text);
    complaint.message = text.str().str();
    if (info.hasSourceManager() && info.getLocation().isValid()) {
      const auto& sources = info.getSourceManager();
      const auto location = sources.getExpansionLoc(info.getLocation());
      if (sources.getFileID(location) == sources.getMainFileID())
        complaint.offset = static_cast<int>(sources.getFileOffset(location));
      const auto place = sources.getPresumedLoc(location);
      if (place.isValid())
        complaint.place = fmt::format("{}:{}", place.getFilename(), place.getLine());
    }
    all.push_back(std::move(complaint));
  }
};

/// That the file itself defines.
std::vector<const clang::FunctionDecl*> kernels_in(clang::ASTContext& context) {
  std::vector<const clang::FunctionDecl*> found;
  const clang::SourceManager& sources = context.getSourceManager();
  AstWalk walk;
  walk.declaration = [&](const clang::Decl& one) {
    const auto* function = clang::dyn_cast<clang::FunctionDecl>(&one);
    if (function != nullptr && function->hasAttr<clang::CUDAGlobalAttr>() &&
        function->isThisDeclarationADefinition() &&
        sources.isInMainFile(sources.getExpansionLoc(function->getLocation())))
      found.push_back(function);
  };
  walk.over(context.getTranslationUnitDecl());
  return found;
}

class Reader : public clang::ASTConsumer {
 public:
  Reader(clang::CompilerInstance& compiler, const ReadUnitOptions& options,
         const host::MacroRecord& macros, const Complaints& complaints, Result<WholeUnit>& result)
      : compiler_(compiler),
        options_(options),
        macros_(macros),
        complaints_(complaints),
        result_(result) {}

  void HandleTranslationUnit(clang::ASTContext& context) override;

 private:
  clang::CompilerInstance& compiler_;
  const ReadUnitOptions& options_;
  const host::MacroRecord& macros_;
  const Complaints& complaints_;
  Result<WholeUnit>& result_;
};

void Reader::HandleTranslationUnit(clang::ASTContext& context) {
  const auto kernels = kernels_in(context);
  if (kernels.empty()) {
    const auto broken =
        std::ranges::find_if(complaints_.all, [](const Complaint& c) { return c.offset >= 0; });
    result_ = broken != complaints_.all.end()
                  ? invalid(fmt::format("{}: {}", broken->place, broken->message))
                  : invalid(fmt::format("{}: no __global__ function in the source", options_.path));
    return;
  }
  WholeUnit unit;
  host::HostRunner runner(context, unit.facts, options_.guesses);
  runner.run();
  // The kernels that were asked for, else those that are launched, else all.
  std::vector<const clang::FunctionDecl*> wanted;
  const auto add = [&](const clang::FunctionDecl* kernel) {
    const std::string name = kernel->getNameAsString();
    if (!options_.kernels.empty() &&
        std::ranges::find(options_.kernels, name) == options_.kernels.end())
      return;
    if (std::ranges::find(wanted, kernel) == wanted.end()) wanted.push_back(kernel);
  };
  for (const clang::FunctionDecl* kernel : runner.launched()) add(kernel);
  if (wanted.empty())
    for (const clang::FunctionDecl* kernel : kernels) add(kernel);
  if (wanted.empty()) {
    std::string names;
    for (const clang::FunctionDecl* kernel : kernels)
      names += (names.empty() ? "" : ", ") + kernel->getNameAsString();
    result_ = invalid(fmt::format("{}: no kernel '{}'; there are {}", options_.path,
                                  options_.kernels.front(), names));
    return;
  }
  host::Cut cut = host::cut_device_code(context, compiler_.getPreprocessor(), macros_, wanted);
  for (std::size_t i = 0; i < runner.origins().size() && i < unit.facts.names.size(); ++i) {
    const auto& origin = runner.origins()[i];
    if (const auto* decl = std::get_if<const clang::Decl*>(&origin))
      unit.facts.names[i].baked = cut.kept.contains((*decl)->getCanonicalDecl());
    else
      unit.facts.names[i].baked = cut.kept_macros.contains(std::get<std::string>(origin));
  }
  for (const auto& [variable, place] : runner.filled_symbols()) {
    if (variable->hasAttr<clang::CUDAConstantAttr>() || !cut.kept.contains(variable)) continue;
    unit.facts.notes.push_back(fmt::format(
        "__device__ {}: the host fills it ({}); a task has no host, so it starts as the "
        "file initialises it",
        variable->getNameAsString(), place));
  }
  for (const Complaint& complaint : complaints_.all) {
    const bool kept = std::ranges::any_of(cut.ranges, [&](const auto& range) {
      return complaint.offset >= static_cast<int>(range.first) &&
             complaint.offset < static_cast<int>(range.second);
    });
    if (!kept) continue;
    result_ =
        invalid(fmt::format("{}: {}; the kernel needs this line: mend it, cut it, or give the "
                            "header's folder with -I",
                            complaint.place, complaint.message));
    return;
  }
  unit.device = std::move(cut.code);
  result_ = std::move(unit);
}

class ReadAction : public clang::ASTFrontendAction {
 public:
  ReadAction(const ReadUnitOptions& options, const Complaints& complaints,
             Result<WholeUnit>& result)
      : options_(options), complaints_(complaints), result_(result) {}

  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef) override {
    compiler.getPreprocessor().addPPCallbacks(
        host::record_macros(compiler.getPreprocessor(), macros_));
    return std::make_unique<Reader>(compiler, options_, macros_, complaints_, result_);
  }

 private:
  const ReadUnitOptions& options_;
  const Complaints& complaints_;
  Result<WholeUnit>& result_;
  host::MacroRecord macros_;
};

}  // namespace

Result<WholeUnit> read_unit(const std::string& source, const ReadUnitOptions& options) {
  Result<WholeUnit> result =
      invalid(fmt::format("{}: this file cannot be read as CUDA", options.path));
  ClangJob job;
  job.source = fmt::format("#line 1 \"{}\"\n{}", options.path, source);
  job.defines = options.defines;
  job.second_prelude = host_prelude_text();
  job.tolerant = true;
  Complaints complaints;
  ReadAction action(options, complaints, result);
  run_clang(job, complaints, action);
  return result;
}

}  // namespace hone::syntax
