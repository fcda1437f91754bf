import { compareGeneratedHistories } from './seeds.ts';

compareGeneratedHistories('1..1');
