/*
 * Products, convolutions and the check of products, which share tiles and types: included
 * once for each instruction set, inside a namespace of its own, hence without an include
 * guard.
 */

#include "conv_body.h"

#include "check_body.h"
