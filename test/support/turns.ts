/** Counts the turns of the event loop until it is disposed of. */
export function countTurns(): Disposable & { readonly turns: number } {
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns++;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  return {
    get turns() {
      return turns;
    },
    [Symbol.dispose]: () => {
      isOver = true;
    },
  };
}
