// A loaded artifact with a pool of threads and the sessions that its runs need.
#pragma once
#include "Arrays.h"
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mopt::python {

struct TensorInfo {
  std::string name, dtype;
  py::tuple shape; // an int is a fixed size, a str the name of a symbol
};

// A file descriptor that closes itself.
class File {
public:
  explicit File(int fd) : fd(fd) {}
  File(File &&other) noexcept : fd(other.fd) { other.fd = -1; }
  File(const File &) = delete;
  ~File();
  int get() const { return fd; }

private:
  int fd;
};

class Model {
public:
  // With `verify`, all weights are read and compared with their hashes; everything else is always checked.
  static std::unique_ptr<Model> load(const std::string &path, int threads, bool verify);
  // `file` may have no name: a model that compile() made gets one when it is saved. If this machine cannot run the model,
  // the result only describes it.
  static std::unique_ptr<Model> loadOrDescribe(File file, int threads);

  py::list inputs() const { return ports(&mopt_model_info::ninputs, mopt_model_input); }
  py::list outputs() const { return ports(&mopt_model_info::noutputs, mopt_model_output); }
  bool runsHere() const { return mopt_model_can_run(model.get(), nullptr) == MOPT_OK; }
  py::bytes manifest() const;
  // Any number of threads may call it at the same time; each run gets a session of its own.
  py::dict run(const py::dict &inputs, const std::string &variant);
  std::vector<std::string> variants() const;
  // Writes the artifact aside and renames it.
  void save(const std::string &path) const;

private:
  template <auto Release> struct Deleter {
    template <class T> void operator()(T *object) const { Release(object); }
  };
  using ModelPtr = std::unique_ptr<mopt_model, Deleter<mopt_model_free>>;
  using PoolPtr = std::unique_ptr<mopt_pool, Deleter<mopt_pool_free>>;
  using SessionPtr = std::unique_ptr<mopt_session, Deleter<mopt_session_free>>;

  explicit Model(File file) : file(std::move(file)) {}
  static std::unique_ptr<Model> load(File file, int threads, mopt_code (*read)(int, mopt_model **, mopt_error *));
  TensorInfo describe(const mopt_tensor_info &info) const;
  py::list ports(uint32_t mopt_model_info::*count, mopt_code (*get)(const mopt_model *, uint32_t, mopt_tensor_info *)) const;
  SessionPtr takeSession();
  void putSession(SessionPtr session);
  std::vector<InputArray> bindInputs(mopt_session *session, const py::dict &inputs) const;
  void choose(mopt_session *session, const std::string &variant) const; // empty: the defaults
  py::dict runIn(mopt_session *session, const py::dict &inputs) const;

  File file;
  ModelPtr model;
  PoolPtr pool;
  std::mutex mutex;
  std::vector<SessionPtr> idle;
};

} // namespace mopt::python
