// formula.h and formula_compare.h as ordinary C++.
#pragma once

#define HONE_FN inline
#include "evaluator/fill/formula.h"
#include "evaluator/fill/formula_compare.h"
#undef HONE_FN
