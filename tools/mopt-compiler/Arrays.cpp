//===- Arrays.cpp - what the compiler shares with the `mopt` command: .npz files and artifacts that run -----------===//
#include "Arrays.h"
#include "../mopt/Npz.h"

namespace mopt::tool {

static TensorData toTensor(Array &&array) {
  auto owner = std::make_shared<Array>(std::move(array));
  TensorData tensor;
  tensor.dtype = static_cast<int32_t>(owner->dtype);
  tensor.dims.assign(owner->dims.begin(), owner->dims.end());
  tensor.bytes = {owner->bytes.data(), static_cast<size_t>(owner->bytes.size())};
  tensor.owner = owner;
  return tensor;
}

static mopt_array fromTensor(const TensorData &tensor) {
  mopt_array t = {};
  t.data = const_cast<uint8_t *>(tensor.bytes.data());
  t.bytes = tensor.bytes.size();
  t.dtype = static_cast<uint32_t>(tensor.dtype);
  t.rank = static_cast<uint32_t>(tensor.dims.size());
  for (size_t i = 0; i < tensor.dims.size() && i < MOPT_MAX_RANK; ++i)
    t.dims[i] = tensor.dims[i];
  return t;
}

static TensorData copyOf(const mopt_array &t) {
  auto *data = static_cast<const uint8_t *>(t.data);
  std::vector<uint8_t> bytes(data, data + (data ? t.bytes : 0));
  return TensorData::own(static_cast<int32_t>(t.dtype), ArrayRef<int64_t>(t.dims, t.rank), std::move(bytes));
}

bool readInputArrays(const std::string &path, func::FuncOp func, std::map<std::string, TensorData> &inputs,
                     std::string &error) {
  try {
    NpzReader reader(path);
    for (unsigned i = 0; i < func.getNumArguments(); ++i) {
      std::string name = inputName(func, i);
      auto type = dyn_cast<RankedTensorType>(func.getArgumentTypes()[i]);
      if (!reader.has(name) || !type) {
        error = "MOPT-V004: '" + path + "' has no array '" + printable(name) + "'";
        return false;
      }
      inputs[name] = toTensor(reader.read(name, static_cast<uint32_t>(onnxType(type.getElementType()))));
    }
    return true;
  } catch (const Failure &failure) {
    error = failure.what();
    return false;
  }
}

bool writeArrays(const std::string &path, ArrayRef<std::pair<std::string, TensorData>> arrays, std::string &error) {
  try {
    std::vector<NamedTensor> named;
    for (const auto &[name, tensor] : arrays)
      named.push_back({name, fromTensor(tensor)});
    writeNpz(path, named);
    return true;
  } catch (const Failure &failure) {
    error = failure.what();
    return false;
  }
}

bool runArtifact(int descriptor, const std::map<std::string, TensorData> &inputs,
                 std::vector<std::pair<std::string, TensorData>> &outputs, std::vector<StepValue> *values,
                 std::string &error) {
  try {
    mopt_error detail;
    mopt_model *loaded = nullptr;
    check(mopt_model_load_fd(descriptor, &loaded, &detail), detail);
    Model model(loaded);
    Pool pool = makePool(1);
    mopt_session_options options = {};
    options.size = sizeof options;
    options.pool = pool.get();
    options.keep_buffers = values != nullptr;
    mopt_session *raw = nullptr;
    check(mopt_session_create(model.get(), &options, &raw, &detail), detail);
    Session session(raw);
    for (const auto &[name, tensor] : inputs) {
      mopt_array t = fromTensor(tensor);
      check(mopt_session_set_input_by_name(raw, name.c_str(), &t, &detail), detail);
    }
    check(mopt_session_run(raw, nullptr, &detail), detail);
    mopt_model_info info;
    mopt_model_get_info(model.get(), &info);
    for (uint32_t i = 0; i < info.noutputs; ++i) {
      mopt_tensor_info output;
      mopt_array t;
      check(mopt_model_output(model.get(), i, &output), detail);
      check(mopt_session_output(raw, i, &t, &detail), detail);
      outputs.push_back({output.name, copyOf(t)});
    }
    for (uint32_t s = 0; values && s < info.nsteps; ++s) {
      mopt_step_info step;
      check(mopt_model_step(model.get(), s, &step), detail);
      // A step of several results may have its names in several orders; only single ones are compared.
      if (step.nwritten != 1 || step.noperands == 0)
        continue;
      mopt_array t;
      if (mopt_session_buffer(raw, static_cast<uint32_t>(step.operands[step.noperands - 1]), &t, &detail) == MOPT_OK)
        values->push_back({step.nodes ? step.nodes : "", copyOf(t)});
    }
    return true;
  } catch (const Failure &failure) {
    error = failure.what();
    return false;
  }
}

} // namespace mopt::tool
