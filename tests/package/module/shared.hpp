// What a file that imports Lido and one that includes it have in common.
#pragma once

int numbers_of_included(lido::object_pool<int>& pool);
int catch_exhausted(lido::object_pool<int>& pool);
