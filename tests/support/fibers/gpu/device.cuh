// Stands for the header of this name where a kernel is run on a CPU.
#pragma once
#include "fibers.h"
