#include "rewriters/syntax/parse.h"

#include <clang/AST/ASTConsumer.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>
#include <clang/Serialization/ASTWriter.h>
#include <clang/Serialization/InMemoryModuleCache.h>
#include <fmt/format.h>

#include <atomic>
#include <list>
#include <mutex>
#include <set>
#include <unordered_map>

#include "candidates/hash.h"
#include "rewriters/syntax/build_ast.h"
#include "rewriters/syntax/clang_run.h"

namespace hone::syntax {
namespace {

class Collector : public clang::DiagnosticConsumer {
 public:
  explicit Collector(TranslationUnit& unit) : unit_(unit) {}

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                        const clang::Diagnostic& info) override {
    clang::DiagnosticConsumer::HandleDiagnostic(level, info);
    if (level < clang::DiagnosticsEngine::Warning) return;
    Diagnostic diagnostic;
    diagnostic.is_error = level >= clang::DiagnosticsEngine::Error;
    llvm::SmallString<256> text;
    info.FormatDiagnostic(text);
    diagnostic.message = text.str().str();
    if (info.hasSourceManager() && info.getLocation().isValid()) {
      const auto place = info.getSourceManager().getPresumedLoc(
          info.getSourceManager().getExpansionLoc(info.getLocation()), false);
      if (place.isValid() && llvm::StringRef(place.getFilename()) == kMainFile) {
        diagnostic.line = static_cast<int>(place.getLine());
        diagnostic.column = static_cast<int>(place.getColumn());
      }
    }
    unit_.diagnostics.push_back(std::move(diagnostic));
  }

 private:
  TranslationUnit& unit_;
};

class BuildConsumer : public clang::ASTConsumer {
 public:
  explicit BuildConsumer(TranslationUnit& unit) : unit_(unit) {}
  void HandleTranslationUnit(clang::ASTContext& context) override {
    if (!context.getDiagnostics().hasErrorOccurred()) build_ast(context, unit_);
  }

 private:
  TranslationUnit& unit_;
};

class BuildAction : public clang::ASTFrontendAction {
 public:
  explicit BuildAction(TranslationUnit& unit) : unit_(unit) {}
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance&,
                                                        llvm::StringRef) override {
    return std::make_unique<BuildConsumer>(unit_);
  }

 private:
  TranslationUnit& unit_;
};

/// Writes what was parsed into a buffer: the prelude, precompiled once per process.
class PrecompileAction : public clang::ASTFrontendAction {
 public:
  explicit PrecompileAction(std::shared_ptr<clang::PCHBuffer> buffer)
      : buffer_(std::move(buffer)) {}
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef) override {
    return std::make_unique<clang::PCHGenerator>(
        compiler.getPreprocessor(), compiler.getModuleCache(), kPrecompiledFile, "", buffer_,
        compiler.getFrontendOpts().ModuleFileExtensions);
  }
  clang::TranslationUnitKind getTranslationUnitKind() override { return clang::TU_Prefix; }
  bool hasASTFileSupport() const override { return false; }

 private:
  std::shared_ptr<clang::PCHBuffer> buffer_;
};

/// Parsing the prelude takes most of the time of a parse, so it is done once. Empty when that
/// fails, and then every parse reads the text.
llvm::StringRef precompiled_prelude() {
  static const std::string bytes = [] {
    auto buffer = std::make_shared<clang::PCHBuffer>();
    TranslationUnit unit;
    Collector collector(unit);
    PrecompileAction action(buffer);
    run_clang({}, collector, action);
    return buffer->IsComplete ? std::string(buffer->Data.data(), buffer->Data.size())
                              : std::string();
  }();
  return bytes;
}

/// `instances` is text that follows the source and instantiates templates; nodes never show it.
std::shared_ptr<TranslationUnit> build_unit(const std::string& source,
                                            const std::map<std::string, std::string>& defines,
                                            const std::string& instances) {
  auto unit = std::make_shared<TranslationUnit>();
  unit->source = source;
  unit->storage = std::make_shared<TranslationUnit::Storage>();
  Collector collector(*unit);
  BuildAction action(*unit);
  ClangJob job;
  job.source = source + instances;
  job.defines = defines;
  job.precompiled = precompiled_prelude();
  run_clang(job, collector, action);
  return unit;
}

struct Parsed {
  std::shared_ptr<const TranslationUnit> unit;
  Error error;
};

Parsed parse_now(const std::string& source, const std::map<std::string, std::string>& defines,
                 const std::string& instances) {
  std::shared_ptr<TranslationUnit> unit = build_unit(source, defines, instances);
  for (const Diagnostic& diagnostic : unit->diagnostics) {
    if (!diagnostic.is_error) continue;
    return {nullptr,
            {ErrorCode::kInvalidInput,
             fmt::format("{}:{}: {}", diagnostic.line, diagnostic.column, diagnostic.message)}};
  }
  for (const Function* function : unit->functions) {
    if (!function->is_host) continue;
    return {nullptr,
            {ErrorCode::kInvalidInput,
             fmt::format("{}: host function '{}': a task holds device code only; mark it "
                         "__device__ or remove it",
                         unit->line_of(function->name_range.begin), function->name)}};
  }
  return {unit, {}};
}

/// About what a result keeps in memory [B].
std::size_t bytes_of(const Parsed& parsed) {
  constexpr std::size_t kStrings = 96;  // and lists of a node
  if (!parsed.unit) return 1024;
  const TranslationUnit& unit = *parsed.unit;
  const TranslationUnit::Storage& nodes = *unit.storage;
  return 2 * unit.source.size() + nodes.exprs.size() * (sizeof(Expr) + kStrings) +
         nodes.stmts.size() * (sizeof(Stmt) + kStrings) +
         nodes.variables.size() * (sizeof(Variable) + kStrings) +
         nodes.functions.size() * sizeof(Function);
}

/// Least recently used results by content; bounded, because a search parses for hours.
class Cache {
 public:
  Parsed get(const std::string& source, const std::map<std::string, std::string>& defines,
             const std::string& instances) {
    std::string key = source + '\0' + instances;
    for (const auto& [name, value] : defines) key += '\0' + name + '=' + value;
    key = content_hash(key);
    {
      std::lock_guard lock(mutex_);
      if (auto found = index_.find(key); found != index_.end()) {
        entries_.splice(entries_.begin(), entries_, found->second);
        return found->second->parsed;
      }
    }
    ++misses_;
    Parsed parsed = parse_now(source, defines, instances);
    std::lock_guard lock(mutex_);
    if (index_.count(key) == 0) {
      entries_.push_front({key, parsed, bytes_of(parsed)});
      index_[key] = entries_.begin();
      bytes_ += entries_.front().bytes;
      while (entries_.size() > 1 && (entries_.size() > kCapacity || bytes_ > kCapacityBytes)) {
        bytes_ -= entries_.back().bytes;
        index_.erase(entries_.back().key);
        entries_.pop_back();
      }
    }
    return parsed;
  }

  [[nodiscard]] std::size_t misses() const { return misses_; }

  void clear() {
    std::lock_guard lock(mutex_);
    entries_.clear();
    index_.clear();
    bytes_ = 0;
  }

 private:
  struct Entry {
    std::string key;
    Parsed parsed;
    std::size_t bytes;
  };
  static constexpr std::size_t kCapacity = 1024;
  static constexpr std::size_t kCapacityBytes = 256U << 20;
  std::atomic<std::size_t> misses_ = 0;
  std::mutex mutex_;
  std::list<Entry> entries_;
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
  std::size_t bytes_ = 0;
};

Cache& cache() {
  static Cache instance;
  return instance;
}

Parsed cached(const std::string& source, const std::map<std::string, std::string>& defines,
              const std::string& instances) {
  return cache().get(source, defines, instances);
}

/// "scale<float>" => a use that makes Clang instantiate it.
std::string instantiations(const Program& program) {
  std::set<std::string> names;
  for (const Launch& launch : program.launches) {
    if (launch.kernel.find('<') != std::string::npos) names.insert(launch.kernel);
  }
  std::string text;
  for (const std::string& name : names) {
    text += fmt::format("\nstatic const auto hone_instance_{} = &{};", text.size(), name);
  }
  return text;
}

}  // namespace

void forget_parsed() { cache().clear(); }

std::size_t parse_count() { return cache().misses(); }

Result<std::shared_ptr<const TranslationUnit>> parse(
    const std::string& source, const std::map<std::string, std::string>& defines) {
  Parsed parsed = cached(source, defines, "");
  if (!parsed.unit) return std::unexpected(parsed.error);
  return parsed.unit;
}

Result<std::shared_ptr<const TranslationUnit>> parse(const Program& program) {
  const std::string instances = instantiations(program);
  if (!instances.empty()) {
    Parsed parsed = cached(program.source, program.defines, instances);
    if (parsed.unit) return parsed.unit;
  }
  return parse(program.source, program.defines);
}

}  // namespace hone::syntax
