import { compareGeneratedHistories } from './seeds.ts';

compareGeneratedHistories('2..3');
