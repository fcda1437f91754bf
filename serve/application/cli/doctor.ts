import { aggregateModule } from '../../../aggregate/composition/module.ts';
import { systemClock } from '../../../infra/clock.ts';
import { type Environment, settingFaults } from '../../../infra/config/read.ts';
import { withTimeout } from '../../../infra/coordination/with-timeout.ts';
import { holdsStore } from '../../../infra/data-directory.ts';
import { readBrokenParts } from '../../../infra/embedded/broken-parts.ts';
import { DamagedFiles } from '../../../infra/embedded/damage.ts';
import { checkDirectory, readCommandLine } from '../../../infra/embedded/directory-check.ts';
import { readLockOwner } from '../../../infra/embedded/owner.ts';
import { reasonOf } from '../../../infra/errors.ts';
import { type Finding, failed, fine, warning } from '../../../infra/finding.ts';
import { VERSION } from '../../../infra/version.ts';
import { loadRegistry, type Registry, readRegistry } from '../../../ingest/chains/registry.ts';
import { ingestModule } from '../../../ingest/module.ts';
import { operatorAddress, serverAddress } from '../../http/listen-address.ts';
import { type Config, readConfig, settings } from '../../settings/settings.ts';
import { checkMail } from '../doctor/mail-check.ts';
import { checkPort, checkSharedPort } from '../doctor/port-check.ts';
import { checkSettings } from '../doctor/settings-check.ts';
import { checkDamage, checkStore, compareClocks } from '../doctor/store-check.ts';
import { SocketClient } from '../operations/socket-client.ts';

const ANSWER_MS_MAX = 20_000;

/** Checks the installation. A running server checks its own settings and store. Changes nothing. */
export async function examine(env: Environment): Promise<Finding[]> {
  const config = usableConfig(env);
  return config.PROFILE === 'distributed' ? examineServices(env, config) : examineDirectory(env, config);
}

export async function examineNode(address: string, env: Environment): Promise<Finding[]> {
  const { checkNode } = await import('../doctor/node-check.ts');
  return checkNode(address, registryOf(usableConfig(env)));
}

/** The settings with defaults in place of invalid values. */
function usableConfig(env: Environment): Config {
  const faults = settingFaults(settings, env);
  const isUsable = (name: string) => !faults.has(name.replace(/_FILE$/, '')) && !faults.has(name);
  return readConfig(Object.fromEntries(Object.entries(env).filter(([name]) => isUsable(name))));
}

async function examineDirectory(env: Environment, config: Config): Promise<Finding[]> {
  const { DATA_DIR } = config;
  const owner = await readLockOwner(DATA_DIR);
  const server = await SocketClient.connect(DATA_DIR);
  const directory = checkDirectory(DATA_DIR, config);
  if (server !== null) return [...(await askServer(server)), ...directory];
  const own = checkSettings(env, config);
  if (owner !== null) return [...own, ...directory, unresponsiveProcess(DATA_DIR, owner)];
  const process = fine('process', 'no process has the data directory open');
  const isBlocked = directory.some(({ state }) => state === 'failed');
  const store = isBlocked ? [] : await checkClosedStore(config);
  const port = await checkPort(serverAddress(config));
  return [...own, ...directory, process, ...store, port, await checkMail(config)];
}

function registryOf(config: Config): Registry {
  try {
    return readRegistry(config);
  } catch {
    // `checkSettings` reports an unreadable CHAINS_FILE.
    return loadRegistry();
  }
}

async function askServer(server: SocketClient): Promise<Finding[]> {
  try {
    const { version, node, pid, findings } = await withTimeout(ANSWER_MS_MAX, server.call('diagnose', {}));
    const text = `a server, process ${pid}, has the data directory open and answers; version ${version}, Node ${node}`;
    const process =
      version === VERSION
        ? fine('process', text)
        : warning('process', `${text}, but this command has version ${VERSION}`, 'restart the server');
    return [process, ...findings];
  } catch (error) {
    const remedy = 'wait until the server has started, or restart it';
    return [
      failed(
        'process',
        `a server has the data directory open, but does not answer: ${reasonOf(error)}`,
        remedy,
      ),
    ];
  }
}

const unresponsiveProcess = (directory: string, pid: number) =>
  warning(
    'process',
    `process ${pid} (${readCommandLine(pid)}) has ${directory} open and does not answer`,
    'wait until that command ends or that server has started; otherwise stop the process, and run doctor again',
  );

/** Imports the engine only here, since the library itself may be broken. */
async function checkClosedStore(config: Config): Promise<Finding[]> {
  if (!holdsStore(config.DATA_DIR)) {
    return [fine('store', 'nothing is stored yet; `chain-metrics start --demo` loads demo data')];
  }
  try {
    const { EmbeddedStore } = await import('../../../infra/embedded/store.ts');
    const damage = new DamagedFiles(config.DATA_DIR);
    damage.checkLog();
    return await EmbeddedStore.inspect(config, async (store) => {
      for (const part of (await readBrokenParts(store)).damage) damage.add(part);
      return [...(await checkStore(store, systemClock, registryOf(config))), ...checkDamage(damage.list())];
    });
  } catch (error) {
    const remedy =
      'stop the process that has it open; if there is none, restore the last backup into another directory';
    return [failed('store', `it cannot be opened: ${reasonOf(error)}`, remedy)];
  }
}

async function examineServices(env: Environment, config: Config): Promise<Finding[]> {
  const { checkClickHouse, checkKafka, checkRedis } = await import(
    '../../../infra/distributed/services-check.ts'
  );
  const consumed = [...ingestModule.consumed, ...aggregateModule.consumed];
  const found = await Promise.all([
    checkKafka(config, consumed),
    checkRedis(config, (time, before, after) => compareClocks('Redis', time, before, after)),
    checkClickHouse(config, (store) => checkStore(store, systemClock, registryOf(config))),
    checkSharedPort(serverAddress(config)),
    checkSharedPort(operatorAddress(config)),
    checkMail(config),
  ]);
  return [...checkSettings(env, config), ...found.flat()];
}
