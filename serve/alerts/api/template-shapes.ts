import { z } from 'zod';
import { wellFormedText } from '../projects/shapes.ts';

const part = () => wellFormedText().max(4096);

export const templateShape = z
  .object({ title: z.string(), text: z.string(), body: z.string() })
  .meta({ id: 'MessageTemplate' });

export const templateInput = z
  .object({
    title: part().optional().describe('Mustache template of the title'),
    text: part().optional().describe('Mustache template of the text below the title'),
    body: part().optional().describe('Mustache template of the whole JSON body of a webhook'),
  })
  .nullable()
  .describe('replaces the built-in template; an empty part or null restores the built-in one');
