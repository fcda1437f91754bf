import type { z } from 'zod';
import { portSettings } from '../config/settings.ts';
import { type distributedBounds, distributedSettings } from '../distributed/settings.ts';

/** Settings of the ports. */
export const infraSettings = { ...portSettings, ...distributedSettings };

export type InfraSettings = z.output<z.ZodObject<typeof infraSettings>> & typeof distributedBounds;
