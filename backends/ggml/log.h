#ifndef SHIM_LOG_H
#define SHIM_LOG_H

namespace shim {

/* Takes a piece of ggml's log; whole lines go to the sink. */
void log_ggml(int level, const char *text);

}  // namespace shim

#endif
