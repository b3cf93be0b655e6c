//===- Diagnostics.cpp --------------------------------------------------------------------------------------------===//
#include "Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

namespace mopt {
namespace {
struct Row {
  llvm::StringLiteral code, advice;
};
constexpr Row rows[] = {
#define MOPT_DIAGNOSTIC(code, name, text, advice) {code, advice},
#include "mopt/Support/Diagnostics.def"
#undef MOPT_DIAGNOSTIC
};
} // namespace

std::string diagCode(Diag diag) {
  std::string digits = std::to_string(1000 + static_cast<unsigned>(diag));
  return "MOPT-I" + digits.substr(1);
}

StringRef diagAdvice(Diag diag) {
  std::string code = diagCode(diag);
  for (const Row &row : rows)
    if (row.code == code)
      return row.advice;
  return "";
}

LogicalResult fail(Location location, Diag diag, const Twine &message) {
  emitError(location) << diagCode(diag) << ": " << message.str() << "; " << diagAdvice(diag);
  return failure();
}

void warn(Location location, Diag diag, const Twine &message) {
  emitWarning(location) << diagCode(diag) << ": " << message.str() << "; " << diagAdvice(diag);
}

CodedErrors::CodedErrors(MLIRContext *context, Diag diag)
    : handler(context, [diag](Diagnostic &diagnostic) -> LogicalResult {
        std::string text = diagnostic.str();
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error || StringRef(text).starts_with("MOPT-"))
          return failure(); // to the next handler
        return succeeded(fail(diagnostic.getLocation(), diag, text)) ? failure() : success();
      }) {}

std::string quote(StringRef text) {
  constexpr size_t limit = 120;
  std::string out = "'";
  for (unsigned char c : text) {
    if (out.size() > limit) {
      out += "...";
      break;
    }
    if (c >= 0x20 && c < 0x7f && c != '\'' && c != '\\') {
      out += static_cast<char>(c);
    } else {
      out += "\\x";
      out += llvm::hexdigit(c >> 4, true);
      out += llvm::hexdigit(c & 15, true);
    }
  }
  return out + "'";
}

} // namespace mopt
