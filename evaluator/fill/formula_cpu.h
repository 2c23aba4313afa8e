// formula.h and its parts as ordinary C++.
#pragma once

#define HONE_FN inline
#define HONE_LARGE_FN inline
#include "evaluator/fill/formula.h"
#include "evaluator/fill/formula_compare.h"
#include "evaluator/fill/formula_contents.h"
#include "evaluator/fill/formula_related.h"
// More does not fit in registers where a GPU's function is called; see hone_contents.
static_assert(sizeof(hone_fill) <= 128);
#undef HONE_FN
#undef HONE_LARGE_FN
