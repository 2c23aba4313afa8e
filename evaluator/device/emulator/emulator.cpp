// The module's front door.
#include "evaluator/device/emulator/emulator.h"

#include "evaluator/device/emulator/ptx/parser.h"

namespace hone::emulator {

Result<std::shared_ptr<const Module>> Module::parse(std::string_view ptx) {
  auto module = std::make_shared<ModuleImpl>();
  module->text = std::string(ptx);
  try {
    Parser(module->text, *module).parse();
  } catch (const ParseError& e) {
    return invalid(e.what());
  } catch (const std::exception& e) {
    return invalid(std::string("PTX: ") + e.what());
  }
  return module;
}

const Kernel* Module::find(std::string_view lowered_name) const {
  for (const Kernel& k : kernels())
    if (k.name == lowered_name) return &k;
  return nullptr;
}

}  // namespace hone::emulator
