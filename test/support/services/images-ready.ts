import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

// `.ci/run` makes images beside the first tests. Those that need them wait for the file that names them, one
// NAME=image a line.
const WAIT_MS_MAX = 600_000;
const { TEST_IMAGES_FILE } = process.env;

if (TEST_IMAGES_FILE !== undefined) {
  const deadline = Date.now() + WAIT_MS_MAX;
  while (!existsSync(TEST_IMAGES_FILE)) {
    if (Date.now() > deadline) throw new Error('the images of the services are not made');
    await pause(200);
  }
  for (const line of readFileSync(TEST_IMAGES_FILE, 'utf8').split('\n')) {
    const [name, image] = line.split('=');
    if (name && image) process.env[name] = image;
  }
}
