// Text for terminals: how wide they are, and lines that fit them.
#pragma once

#include <cstddef>
#include <string>

namespace mdsm {

// What COLUMNS says, or the terminal of standard output or standard error; 0 where there is none.
size_t terminal_columns();

// Lines of at most `columns` characters, broken at spaces; 0 = one line. Lines after the first begin with
// `indent` spaces; `used` columns of the first are taken already. A word that is too long stays whole.
std::string wrapped(const std::string& text, size_t columns, size_t indent, size_t used = 0);

}  // namespace mdsm
