import { expectNothingLost } from './nothing-lost.ts';

expectNothingLost({ kills: 4, seed: 1 });
