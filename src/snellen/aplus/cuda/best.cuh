// The better of two anchors.
#pragma once

struct Best {
  float score;
  int anchor;
};

// Of equal scores the lower anchor.
__device__ __forceinline__ Best better(Best a, Best b) {
  return b.score > a.score || (b.score == a.score && b.anchor < a.anchor) ? b : a;
}
