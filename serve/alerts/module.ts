import { oncallTables } from './model/oncall-tables.ts';
import { suppressionTables } from './model/suppression-tables.ts';
import { projectTables } from './model/tables.ts';

/** What projects and their integrations bring to the product. Their routes are in `routes.ts`, which only a server loads. */
export const alertServingModule = { tables: [...projectTables, ...oncallTables, ...suppressionTables] };
