//===- GpuFolder.cpp - shaders, weights and plan as a folder ------------------------------------------------------===//
//
// Documented in docs/targets.md. A host needs nothing of ours to run it: a JSON reader and Vulkan.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "mopt/Package/Package.h"
#include "mopt/Runtime/planner.h"
#include "mopt/Support/Checked.h"
#include "mopt/Support/OutputFile.h"
#include "mopt/Support/OutputFolder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mopt {
namespace {

constexpr unsigned folderFormat = 1;
constexpr StringLiteral planName = "plan.json", shaderName = "shaders.spv", weightName = "weights.bin";

/// Names come from a model file and may hold any bytes.
json::Value utf8(StringRef text) { return json::isUTF8(text) ? text.str() : json::fixUTF8(text); }

json::Array dimsOf(ArrayRef<mopt_size> sizes) { return json::Array(sizes); }

/// Buffers of GPUs hold floats only.
std::optional<uint64_t> bytesOf(const PlanBuffer &buffer) {
  uint64_t bytes = sizeof(float);
  for (mopt_size dim : buffer.dims) {
    auto product = dim < 0 ? std::nullopt : checked::mul<uint64_t>(bytes, dim);
    if (!product)
      return std::nullopt;
    bytes = *product;
  }
  return bytes;
}

/// Offsets of buffers in the arena and in the weights; nothing if there can be no such arena.
std::optional<std::vector<uint64_t>> placeBuffers(const Plan &plan, uint64_t &arenaBytes) {
  std::vector<mopt_plan_item> items;
  std::vector<size_t> numbers;
  std::vector<uint64_t> offsets(plan.buffers.size());
  for (auto [i, buffer] : enumerate(plan.buffers)) {
    std::optional<uint64_t> bytes = bytesOf(buffer);
    if (!bytes)
      return std::nullopt;
    offsets[i] = buffer.kind == MOPT_BUF_WEIGHT ? buffer.offset : 0;
    if (buffer.kind != MOPT_BUF_ARENA)
      continue;
    mopt_plan_item item = {};
    item.bytes = *bytes;
    item.first = buffer.firstStep;
    item.last = buffer.lastStep;
    item.align = gpuAlignment;
    items.push_back(item);
    numbers.push_back(i);
  }
  std::vector<uint64_t> scratch(mopt_plan_scratch_bytes(items.size()) / sizeof(uint64_t) + 1);
  if (mopt_plan_arena(items.data(), items.size(), scratch.data(), &arenaBytes) != 0)
    return std::nullopt;
  for (auto [item, number] : zip_equal(items, numbers))
    offsets[number] = item.offset;
  return offsets;
}

json::Array ports(const Plan &plan, ArrayRef<PlanPort> list) {
  json::Array result;
  for (const PlanPort &port : list)
    result.push_back(
        json::Object{{"name", utf8(port.name)}, {"dtype", "float32"}, {"dims", dimsOf(port.dims)}, {"buffer", port.buffer}});
  return result;
}

std::string planJson(const Plan &plan, const GpuModule &shaders, const TargetSpec &target, const PackageOptions &options,
                     ArrayRef<uint64_t> offsets, uint64_t arenaBytes) {
  const char *const kinds[] = {"input", "output", "arena", "weight"};
  const uint32_t kindValues[] = {MOPT_BUF_INPUT, MOPT_BUF_OUTPUT, MOPT_BUF_ARENA, MOPT_BUF_WEIGHT};
  json::Array buffers, steps, entries;
  for (auto [buffer, offset] : zip_equal(plan.buffers, offsets)) {
    const uint32_t *kind = find(kindValues, buffer.kind);
    json::Object object{{"kind", kind == std::end(kindValues) ? "unknown" : kinds[kind - kindValues]},
                        {"dtype", "float32"},
                        {"dims", dimsOf(buffer.dims)},
                        {"bytes", *bytesOf(buffer)}};
    if (buffer.kind == MOPT_BUF_ARENA || buffer.kind == MOPT_BUF_WEIGHT)
      object["offset"] = offset;
    else
      object["port"] = buffer.index;
    buffers.push_back(std::move(object));
  }
  for (const GpuEntry &entry : shaders.entries)
    entries.push_back(json::Object{{"name", entry.name},
                                   {"local_size", json::Array{entry.threads, 1, 1}},
                                   {"workgroups", json::Array(ArrayRef<uint32_t>(entry.groups))},
                                   {"workgroup_memory", entry.sharedBytes}});
  for (const PlanStep &step : plan.steps) {
    json::Array nodes;
    for (const std::string &node : step.nodes)
      nodes.push_back(utf8(node));
    auto entry = find_if(shaders.entries, [&](const GpuEntry &e) { return e.name == step.variants.front().function; });
    steps.push_back(json::Object{{"name", utf8(step.name)},
                                 {"nodes", std::move(nodes)},
                                 {"entry", static_cast<int64_t>(entry - shaders.entries.begin())},
                                 {"bindings", json::Array(ArrayRef<int32_t>(step.operands))},
                                 {"written", step.written},
                                 {"macs", step.macs}});
  }
  json::Object asked;
  for (const auto &[key, value] : options.options)
    asked[utf8(key).getAsString()->str()] = utf8(value);
  json::Object all{{"format", folderFormat},
                   {"compiler", "mopt " + options.compilerVersion},
                   {"triple", target.triple},
                   {"model", json::Object{{"name", utf8(plan.modelName)}, {"hash", plan.modelHash}}},
                   {"options", std::move(asked)},
                   {"inputs", ports(plan, plan.inputs)},
                   {"outputs", ports(plan, plan.outputs)},
                   {"arena", json::Object{{"bytes", arenaBytes}}},
                   {"weights", json::Object{{"file", weightName}, {"bytes", plan.weightBytes}}},
                   {"alignment", gpuAlignment},
                   {"buffers", std::move(buffers)},
                   {"shaders", json::Object{{"file", shaderName}, {"entries", std::move(entries)}}},
                   {"steps", std::move(steps)}};
  return formatv("{0:2}\n", json::Value(std::move(all))).str();
}

class FolderWriter {
public:
  FolderWriter(const OutputFolder &folder, std::string &error) : folder(folder), error(error) {}

  bool write(StringRef name, uint64_t bytes, function_ref<bool(OutputFile &)> fill) {
    OutputFile file(folder.place() + "/" + name.str());
    total += bytes;
    if (file.reserve(bytes) && fill(file) && file.commit())
      return true;
    error = outputError(file);
    return false;
  }
  uint64_t total = 0;

private:
  const OutputFolder &folder;
  std::string &error;
};

bool writeWeights(OutputFile &file, const Plan &plan, const PackageOptions &options) {
  const std::vector<uint8_t> zeros(gpuAlignment);
  std::vector<uint8_t> made;
  auto fillTo = [&](uint64_t offset) { return file.write(zeros.data(), offset - file.position()); };
  for (const PlanWeight &piece : plan.weights) {
    if (piece.make) {
      made.resize(piece.size());
      piece.make(made.data());
    }
    if (!fillTo(piece.offset) || !file.write(piece.make ? made.data() : piece.bytes.data(), piece.size()))
      return false;
    if (options.copied)
      options.copied(piece.bytes);
  }
  return fillTo(plan.weightBytes);
}

} // namespace

bool packageGpuFolder(const GpuModule &shaders, const Plan &plan, const TargetSpec &target, StringRef path,
                      const PackageOptions &options, std::string &error, PackageStats *stats) {
  uint64_t arenaBytes = 0;
  std::optional<std::vector<uint64_t>> offsets = placeBuffers(plan, arenaBytes);
  if (!offsets) {
    error = "MOPT-P110: the buffers of the plan have no sizes that memory can have";
    return false;
  }
  OutputFolder folder(path.str(), {planName.str(), shaderName.str(), weightName.str()});
  auto report = [&] {
    if (folder.fault() == OutputFolder::Fault::none)
      return true;
    error = folder.fault() == OutputFolder::Fault::taken
                ? "MOPT-P005: " + folder.error() + "; choose another name, or remove it"
                : std::string(folder.fault() == OutputFolder::Fault::place ? "MOPT-P001: " : "MOPT-P004: ") + folder.error();
    return false;
  };
  if (!report())
    return false;
  FolderWriter writer(folder, error);
  std::string text = planJson(plan, shaders, target, options, *offsets, arenaBytes);
  uint64_t codeBytes = shaders.spirv.size() * sizeof(uint32_t);
  if (!writer.write(weightName, plan.weightBytes, [&](OutputFile &file) { return writeWeights(file, plan, options); }) ||
      !writer.write(shaderName, codeBytes, [&](OutputFile &file) { return file.write(shaders.spirv.data(), codeBytes); }) ||
      !writer.write(planName, text.size(), [&](OutputFile &file) { return file.write(text.data(), text.size()); }))
    return false;
  if (stats) {
    stats->codeBytes = codeBytes;
    stats->fileBytes = writer.total;
    stats->object.functions = shaders.entries.size();
  }
  if (options.beforeCommit && !options.beforeCommit(error))
    return false;
  folder.commit();
  return report();
}

} // namespace mopt
