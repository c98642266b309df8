#ifndef SHIM_LOG_H
#define SHIM_LOG_H

namespace shim {

/* Takes a piece of ggml's log; whole lines go to the sink. */
void log_ggml(int level, const char *text);

/* Whether the last whole line of ggml's that came from this thread has these words. */
bool last_line_has(const char *words);

}  // namespace shim

#endif
