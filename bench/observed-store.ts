import type { Store, Transaction } from '../src/store/contract.js';

/** The same store; each transaction is told before it is sent. */
export const observedStore = (store: Store, onTransaction: (transaction: Transaction) => void): Store => ({
  read: (range, options) => store.read(range, options),
  watch: (range, options) => store.watch(range, options),
  compact: (revision) => store.compact(revision),
  close: () => store.close(),
  transact: (transaction) => {
    onTransaction(transaction);
    return store.transact(transaction);
  },
});
