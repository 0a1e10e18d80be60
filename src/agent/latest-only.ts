/**
 * Does one thing at a time, and of what is wanted meanwhile only the last: for wishes that replace each other, which
 * somebody elsewhere may utter as often as they like.
 */
export function latestOnly<T>(act: (wish: T, done: () => void) => void): (wish: T) => void {
  let isActing = false;
  let next: { readonly wish: T } | undefined;
  const go = (wish: T): void => {
    isActing = true;
    act(wish, () => {
      isActing = false;
      const following = next;
      next = undefined;
      if (following !== undefined) go(following.wish);
    });
  };
  return (wish) => {
    if (isActing) next = { wish };
    else go(wish);
  };
}
