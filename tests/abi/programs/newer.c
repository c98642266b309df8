/*
 * A program that was compiled against a newer header than the library's: it asks for
 * that version, or for what came with it, and is told.
 */
#include "../../c/programs/model.h"

int main(void) {
    model m;
    qtsa_plan_options options;
    qtsa_plan plan = (qtsa_plan)(uintptr_t)7;
    CHECK(qtsa_version() < QTSA_VERSION);
    CHECK(qtsa_version_require(QTSA_VERSION) == QTSA_ERR_VERSION_MISMATCH);
    OK(qtsa_version_require(qtsa_version()));

    options = qtsa_plan_options_init();
    model_open(&m);
    REFUSED(QTSA_ERR_VERSION_MISMATCH, qtsa_plan_create(m.session, m.graph, &options, &plan), "24", "16", "newer");
    CHECK(plan == NULL);
    MODEL_RUNS(m.plan); /* and what the library has goes on working */
    model_free(&m);
    printf("ok\n");
    return 0;
}
