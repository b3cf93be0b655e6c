//===- Recognize.cpp - what a file is, by its first bytes ---------------------------------------------------------===//
#include "Recognize.h"
#include "llvm/ADT/StringExtras.h"

namespace mopt {

static StringRef textOf(ArrayRef<uint8_t> bytes) { return {reinterpret_cast<const char *>(bytes.data()), bytes.size()}; }

bool isModule(ArrayRef<uint8_t> bytes) {
  StringRef text = textOf(bytes);
  if (text.starts_with("ML\xefR"))
    return true;
  // Past comments and blank lines.
  for (;;) {
    text = text.ltrim(" \t\r\n");
    if (!text.starts_with("//"))
      break;
    text = text.drop_until([](char c) { return c == '\n'; });
  }
  if (text.consume_front("#") || text.consume_front("!")) { // an alias: #loc = loc(unknown)
    StringRef rest = text.drop_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$'; });
    return rest.size() < text.size() && rest.ltrim(" ").starts_with("=");
  }
  for (StringRef start : {"module", "builtin.module", "\"builtin.module\"", "func.func", "{-#"})
    if (text.consume_front(start))
      return text.empty() || StringRef(" \t\r\n({@").contains(text.front()) || start == "{-#";
  return false;
}

StringRef describeContent(ArrayRef<uint8_t> bytes) {
  struct Row {
    size_t offset;
    StringRef start, text;
  };
  static const Row rows[] = {
      {0,
       "\x7f"
       "ELF",
       "an ELF file, as compiled artifacts are (`mopt run`, `mopt bench` and `mopt inspect` take those)"},
      {0, "PK\x03\x04", "a zip archive, as PyTorch and numpy write them (export the model with torch.onnx.export)"},
      {0, "\x1f\x8b", "gzip data (unpack it first)"},
      {0, "\x89HDF", "an HDF5 file, as Keras writes them (convert the model with tf2onnx)"},
      {4, "TFL3", "a TensorFlow Lite model (convert it with tf2onnx)"},
      {4, "ORTM", "a model in onnxruntime's own format (give the ONNX model that it was made from)"},
      {0, "version https://git-lfs", "a Git LFS pointer, not the file itself (`git lfs pull` fetches it)"},
      {0, "<!DOCTYPE", "a web page, not the file it links to"},
      {0, "<html", "a web page, not the file it links to"},
      {0, "\x93NUMPY", "a numpy array"},
  };
  if (isModule(bytes))
    return "an MLIR module (`mopt compile`, `inspect`, `export` and `verify` read it if its name does not end in .onnx)";
  StringRef text = textOf(bytes);
  for (const Row &row : rows)
    if (text.drop_front(std::min(row.offset, text.size())).starts_with(row.start))
      return row.text;
  return "";
}

} // namespace mopt
