// The common part of a file that imports Lido and one that includes it.
#pragma once

int numbers_of_included(lido::object_pool<int>& pool);
int catch_exhausted(lido::object_pool<int>& pool);
