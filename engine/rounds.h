/* rounds -- loops whose shapes change from step to step.
 *
 * A plan needs to know every shape. A loop whose body makes shapes that only values
 * decide (a mask, a variable that grows) has no plan; it runs in rounds: each call of its
 * functions is an evaluation of its own, for the shapes that its values have by then. */
#pragma once

#include "engine/engine.h"

/* Whether a node is a loop that this is for: no plan can be made of its functions. */
bool rounds_needed(const node *n);

/* Runs the loop for the values of its inputs, captured ones included. outputs gets one
 * reference each for the caller. Adds to stats, whose work is limited as a whole. On an
 * error nothing is held: those of engine_run, ERR_LOOP above the loop's limit, ERR_SHAPE if
 * what a scan stacks differs in shape. */
bool rounds_run(const node *n, const tensor *inputs, const engine_options *options, budget *b,
                const stop_sign *stop, tensor *outputs, engine_stats *stats, error *err);
