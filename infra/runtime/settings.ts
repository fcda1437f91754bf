import type { z } from 'zod';
import { portBounds, portSettings } from '../config/settings.ts';
import { distributedBounds, distributedSettings } from '../distributed/settings.ts';

/** Settings of the ports. */
export const infraSettings = { ...portSettings, ...distributedSettings };

/** Their bounds that operators have no reason to turn. */
export const infraBounds = { ...portBounds, ...distributedBounds };

export type InfraSettings = z.output<z.ZodObject<typeof infraSettings>> & typeof infraBounds;
