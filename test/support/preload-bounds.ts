import { bounds } from '../../serve/settings/settings.ts';

// A process of the product that a test starts gets the bounds of `testEnvironment`.
Object.assign(bounds, JSON.parse(process.env.TEST_BOUNDS ?? '{}'));
