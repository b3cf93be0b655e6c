#include "Model.h"
#include "Errors.h"
#include "mopt/Support/OutputFile.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <unistd.h>

namespace mopt::python {

File::~File() {
  if (fd >= 0)
    close(fd);
}

std::unique_ptr<Model> Model::load(const std::string &path, int threads, bool verify) {
  File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)); // NONBLOCK: a FIFO must not hang us
  if (file.get() < 0)
    throwError("MOPT-R010: cannot open '" + path + "': " + std::strerror(errno), "");
  std::unique_ptr<Model> result = load(std::move(file), threads, mopt_model_load_fd);
  if (verify) {
    mopt_error error{};
    mopt_code code;
    {
      py::gil_scoped_release release;
      code = mopt_model_verify_weights(result->model.get(), &error);
    }
    check(code, error, nullptr);
  }
  return result;
}

std::unique_ptr<Model> Model::loadOrDescribe(File file, int threads) {
  mopt_model *described = nullptr;
  mopt_error error{};
  check(mopt_model_describe_fd(file.get(), &described, &error), error, nullptr);
  bool runs = mopt_model_can_run(described, nullptr) == MOPT_OK;
  mopt_model_free(described);
  return load(std::move(file), threads, runs ? mopt_model_load_fd : mopt_model_describe_fd);
}

std::unique_ptr<Model> Model::load(File file, int threads, mopt_code (*read)(int, mopt_model **, mopt_error *)) {
  std::unique_ptr<Model> result(new Model(std::move(file)));
  mopt_error error{};
  mopt_model *model = nullptr;
  mopt_pool *pool = nullptr;
  mopt_code code;
  {
    py::gil_scoped_release release;
    code = read(result->file.get(), &model, &error);
  }
  check(code, error, nullptr);
  result->model.reset(model);
  check(mopt_pool_create(threads, &pool, &error), error, nullptr);
  result->pool.reset(pool);
  return result;
}

TensorInfo Model::describe(const mopt_tensor_info &info) const {
  py::tuple shape(info.rank);
  for (uint32_t i = 0; i < info.rank; ++i) {
    if (info.dims[i] >= 0)
      shape[i] = py::int_(info.dims[i]);
    else
      shape[i] = py::str(mopt_model_symbol_name(model.get(), static_cast<uint32_t>(MOPT_SYMBOL_OF_SIZE(info.dims[i]))));
  }
  return {info.name, mopt_dtype_name(info.dtype), shape};
}

py::list Model::ports(uint32_t mopt_model_info::*count,
                      mopt_code (*get)(const mopt_model *, uint32_t, mopt_tensor_info *)) const {
  py::list list;
  mopt_model_info all;
  mopt_model_get_info(model.get(), &all);
  for (uint32_t i = 0; i < all.*count; ++i) {
    mopt_tensor_info info;
    get(model.get(), i, &info);
    list.append(describe(info));
  }
  return list;
}

py::bytes Model::manifest() const {
  mopt_model_info all;
  mopt_model_get_info(model.get(), &all);
  return {all.manifest, static_cast<size_t>(all.manifest_bytes)};
}

Model::SessionPtr Model::takeSession() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!idle.empty()) {
      SessionPtr session = std::move(idle.back());
      idle.pop_back();
      return session;
    }
  }
  mopt_session_options options{};
  options.size = sizeof options;
  options.pool = pool.get();
  mopt_session *session = nullptr;
  mopt_error error{};
  check(mopt_session_create(model.get(), &options, &session, &error), error, model.get());
  return SessionPtr(session);
}

void Model::putSession(SessionPtr session) {
  std::lock_guard<std::mutex> lock(mutex);
  idle.push_back(std::move(session));
}

std::vector<InputArray> Model::bindInputs(mopt_session *session, const py::dict &inputs) const {
  mopt_error error{};
  mopt_model_info all;
  mopt_model_get_info(model.get(), &all);
  for (auto item : inputs) {
    std::string name = py::str(item.first);
    if (mopt_model_find_input(model.get(), name.c_str()) >= 0)
      continue;
    mopt_array none{};
    check(mopt_session_set_input_by_name(session, name.c_str(), &none, &error), error, model.get());
  }
  std::vector<InputArray> arrays(all.ninputs);
  for (uint32_t i = 0; i < all.ninputs; ++i) {
    mopt_tensor_info info;
    mopt_model_input(model.get(), i, &info);
    py::str name(info.name);
    // A session remembers inputs of earlier runs, whose memory is gone: none may be left out.
    if (!inputs.contains(name))
      throwError("MOPT-R035: input '" + std::string(info.name) + "' is missing; give an array for it", "");
    arrays[i] = makeInput(inputs[name], info.dtype);
    check(mopt_session_set_input(session, i, &arrays[i].tensor, &error), error, model.get());
  }
  return arrays;
}

py::dict Model::runIn(mopt_session *session, const py::dict &inputs) const {
  mopt_error error{};
  mopt_model_info all;
  mopt_model_get_info(model.get(), &all);
  // The session may still name arrays of an earlier run, whose memory is gone.
  for (uint32_t i = 0; i < all.noutputs; ++i)
    check(mopt_session_set_output(session, i, nullptr, 0, &error), error, model.get());
  std::vector<InputArray> arrays = bindInputs(session, inputs);
  check(mopt_session_prepare(session, &error), error, model.get());

  // Outputs whose size is known now are written to the arrays that the caller gets.
  std::vector<std::optional<OutputBuffer>> buffers(all.noutputs);
  for (uint32_t i = 0; i < all.noutputs; ++i) {
    mopt_array tensor{};
    check(mopt_session_output(session, i, &tensor, &error), error, model.get());
    if (std::any_of(tensor.dims, tensor.dims + tensor.rank, [](int64_t size) { return size < 0; }))
      continue;
    uint64_t count = 1;
    for (uint32_t d = 0; d < tensor.rank; ++d)
      count *= static_cast<uint64_t>(tensor.dims[d]); // prepare has checked that the product exists
    uint64_t bytes = bytesOf(tensor.dtype, count);
    buffers[i].emplace(bytes);
    check(mopt_session_set_output(session, i, buffers[i]->data(), bytes, &error), error, model.get());
  }
  mopt_code code;
  {
    py::gil_scoped_release release;
    code = mopt_session_run(session, nullptr, &error);
  }
  check(code, error, model.get());

  py::dict results;
  for (uint32_t i = 0; i < all.noutputs; ++i) {
    mopt_array tensor{};
    mopt_tensor_info info;
    mopt_model_output(model.get(), i, &info);
    check(mopt_session_output(session, i, &tensor, &error), error, model.get());
    bool inPlace = buffers[i] && tensor.data == buffers[i]->data();
    results[py::str(info.name)] = inPlace ? std::move(*buffers[i]).toArray(tensor) : copyOutput(tensor);
  }
  return results;
}

std::vector<std::string> Model::variants() const {
  mopt_model_info all;
  mopt_model_get_info(model.get(), &all);
  std::vector<std::string> names;
  for (uint32_t i = 0; i < all.nsteps; ++i) {
    mopt_step_info step;
    mopt_model_step(model.get(), i, &step);
    for (uint32_t v = 0; v < step.nvariants; ++v)
      if (std::string name = mopt_model_variant_name(model.get(), i, v);
          std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
  }
  return names;
}

void Model::choose(mopt_session *session, const std::string &variant) const {
  mopt_model_info all;
  mopt_model_get_info(model.get(), &all);
  mopt_error error{};
  for (uint32_t i = 0; i < all.nsteps; ++i) {
    int32_t number = variant.empty() ? 0 : mopt_model_find_variant(model.get(), i, variant.c_str());
    check(mopt_session_set_variant(session, i, static_cast<uint32_t>(std::max(number, 0)), &error), error, model.get());
  }
}

py::dict Model::run(const py::dict &inputs, const std::string &variant) {
  mopt_error error{};
  std::vector<std::string> known = variant.empty() ? std::vector<std::string>() : variants();
  if (!variant.empty() && std::find(known.begin(), known.end(), variant) == known.end()) {
    std::string list;
    for (const std::string &name : known)
      list += (list.empty() ? "" : ", ") + name;
    throwError("MOPT-T014: no step has a variant '" + variant + "'; there are: " + list + " (compile with tiles=)", "");
  }
  if (mopt_model_can_run(model.get(), &error) != MOPT_OK)
    throwError(error.message + std::string("; save(path) keeps the model for a machine that can"), "");
  SessionPtr session = takeSession();
  // A failed run leaves the session usable: it goes back on every way out.
  struct Return {
    Model &model;
    SessionPtr &session;
    ~Return() { model.putSession(std::move(session)); }
  } giveBack{*this, session};
  if (variant.empty())
    return runIn(session.get(), inputs);
  choose(session.get(), variant);
  struct Reset { // sessions that wait for a run have the defaults
    const Model &model;
    mopt_session *session;
    ~Reset() { model.choose(session, ""); }
  } reset{*this, session.get()};
  return runIn(session.get(), inputs);
}

void Model::save(const std::string &path) const {
  OutputFile to(path);
  std::vector<char> block(1 << 20);
  off_t at = 0;
  ssize_t got = 1;
  while (to.ok() && got > 0) {
    got = pread(file.get(), block.data(), block.size(), at);
    if (got > 0 && to.write(block.data(), static_cast<size_t>(got)))
      at += got;
  }
  if (got < 0)
    throwError("MOPT-R011: reading the artifact failed: " + std::string(std::strerror(errno)), "");
  if (!to.commit())
    throwError("MOPT-I027: " + to.error(), "");
}

} // namespace mopt::python
