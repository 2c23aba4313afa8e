// formula.h as ordinary C++.
#pragma once

#define HONE_FN inline
#include "evaluator/fill/formula.h"
#undef HONE_FN
