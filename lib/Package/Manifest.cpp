//===- Manifest.cpp - what an artifact says about itself ----------------------------------------------------------===//
//
// JSON with sorted keys; documented in docs/manifest.md. Nothing in it depends on when or where it was made.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "mopt/Package/Package.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mopt {
namespace {

const unsigned manifestFormat = 1;

const char *const dtypeNames[] = {
    "undefined", "float32",    "uint8",      "int8",         "uint16",         "int16",      "int32",
    "int64",     "string",     "bool",       "float16",      "float64",        "uint32",     "uint64",
    "complex64", "complex128", "bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
    "uint4",     "int4",       "float4e2m1", "float8e8m0",   "uint2",          "int2"};

/// Names come from a model file and may hold any bytes.
json::Value utf8(StringRef text) { return json::isUTF8(text) ? text.str() : json::fixUTF8(text); }

std::string symbolName(const Plan &plan, mopt_size size) {
  size_t index = MOPT_SYMBOL_OF_SIZE(size);
  if (index < plan.symbols.size() && !plan.symbols[index].name.empty())
    return plan.symbols[index].name;
  return "s" + std::to_string(index);
}

json::Array ports(const Plan &plan, ArrayRef<PlanPort> list) {
  json::Array result;
  for (const PlanPort &port : list) {
    json::Array dims;
    for (mopt_size size : port.dims)
      dims.push_back(size >= 0 ? json::Value(size) : utf8(symbolName(plan, size)));
    StringRef dtype = port.dtype < std::size(dtypeNames) ? dtypeNames[port.dtype] : "undefined";
    result.push_back(json::Object{{"name", utf8(port.name)}, {"dtype", dtype}, {"dims", std::move(dims)}});
  }
  return result;
}

} // namespace

std::string makeManifest(const Plan &plan, const TargetSpec &target, const PackageOptions &options) {
  json::Array symbols, needs;
  const char *const kinds[] = {"input", "expression", "data"};
  for (auto [i, symbol] : enumerate(plan.symbols))
    symbols.push_back(json::Object{{"name", utf8(symbolName(plan, MOPT_SIZE_OF_SYMBOL(i)))},
                                   {"kind", symbol.kind < std::size(kinds) ? kinds[symbol.kind] : "unknown"}});
  for (unsigned bit = 0; bit < 64; ++bit)
    if (StringRef name = cpuBitName(uint64_t(1) << bit); (target.cpuBits >> bit & 1) && !name.empty())
      needs.push_back(name);
  json::Object asked;
  for (const auto &[key, value] : options.options)
    asked[utf8(key).getAsString()->str()] = utf8(value);

  json::Object all{
      {"format", manifestFormat},
      {"compiler", json::Object{{"name", "mopt"}, {"version", utf8(options.compilerVersion)}}},
      {"model", json::Object{{"name", utf8(plan.modelName)}, {"hash", utf8(plan.modelHash)}}},
      {"target", json::Object{{"triple", target.triple},
                              {"cpu", target.cpu},
                              {"features", target.features},
                              {"tune", target.tune},
                              {"needs", std::move(needs)},
                              {"vector_bits", target.vectorBits}}},
      {"inputs", ports(plan, plan.inputs)},
      {"outputs", ports(plan, plan.outputs)},
      {"symbols", std::move(symbols)},
      {"steps", int64_t(plan.steps.size())},
      {"weights_bytes", int64_t(plan.weightBytes)},
      {"options", std::move(asked)},
  };
  for (const char *member : {"lineage", "precision", "sensitivity", "calibration", "tuning", "report"})
    all[member] = nullptr;
  for (const auto &[key, value] : options.manifest)
    all[key] = value;
  std::string text;
  raw_string_ostream os(text);
  os << json::Value(std::move(all));
  return text;
}

} // namespace mopt
