import { permute } from './permutations.ts';

permute(0, 2);
