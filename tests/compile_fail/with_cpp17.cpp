// flags: -std=c++17
#include "lido/lido.hpp"
