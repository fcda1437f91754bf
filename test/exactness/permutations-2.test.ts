import { permute } from './permutations.ts';

permute(1, 2);
