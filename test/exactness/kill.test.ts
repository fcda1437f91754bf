import { expectNothingLost } from './nothing-lost.ts';

expectNothingLost({ kills: 1, seed: 3 });
