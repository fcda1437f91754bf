import { oncallTables } from './model/oncall-tables.ts';
import { suppressionTables } from './model/suppression-tables.ts';
import { projectTables } from './model/tables.ts';

/** Tables of alerts. The routes are in `routes.ts`, which only a server loads. */
export const alertServingModule = { tables: [...projectTables, ...oncallTables, ...suppressionTables] };
