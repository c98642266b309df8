/* A panic inside Go becomes INTERNAL with its text and place, and nothing stays broken. */
#include "hooks.h"
#include "model.h"

int main(void) {
    model m;
    int i;
    model_open(&m);
    for (i = 0; i < 100; i++) {
        REFUSED(QTSA_ERR_INTERNAL, qtsa_test_panic(0), "panic at hooks.go:", "on demand");
        MODEL_RUNS(m.plan);
        REFUSED(QTSA_ERR_INTERNAL, qtsa_test_panic(1), "panic at hooks.go:", "nil pointer");
        MODEL_RUNS(m.plan);
        REFUSED(QTSA_ERR_INTERNAL, qtsa_test_panic(2), "panic at hooks.go:", "an error on demand");
        MODEL_RUNS(m.plan);
    }
    OK(qtsa_test_panic(-1));
    model_free(&m);
    printf("ok\n");
    return 0;
}
