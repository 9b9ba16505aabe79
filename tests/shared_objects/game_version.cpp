#include "game.hpp"

int version_of_game() {
  return VERSION_OF_GAME;
}
