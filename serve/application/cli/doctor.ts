import { aggregateModule } from '../../../aggregate/composition/module.ts';
import { systemClock } from '../../../infra/clock.ts';
import { type Environment, settingFaults } from '../../../infra/config/read.ts';
import { withTimeout } from '../../../infra/coordination/with-timeout.ts';
import { holdsStore } from '../../../infra/data-directory.ts';
import { readBrokenParts } from '../../../infra/embedded/broken-parts.ts';
import { DamagedFiles } from '../../../infra/embedded/damage.ts';
import { checkDirectory, programOf } from '../../../infra/embedded/directory-check.ts';
import { readLockOwner } from '../../../infra/embedded/owner.ts';
import { reasonOf } from '../../../infra/errors.ts';
import { type Finding, failed, fine, warning } from '../../../infra/finding.ts';
import { VERSION } from '../../../infra/version.ts';
import { loadRegistry, type Registry, readRegistry } from '../../../ingest/chains/registry.ts';
import { ingestModule } from '../../../ingest/module.ts';
import { operatorAddress, serverAddress } from '../../http/listen-address.ts';
import { type Config, readConfig, settings } from '../../settings/settings.ts';
import { checkMail } from '../doctor/mail-check.ts';
import { checkPort } from '../doctor/port-check.ts';
import { checkSettings } from '../doctor/settings-check.ts';
import { checkDamage, checkStore, compareClocks } from '../doctor/store-check.ts';
import { SocketClient } from '../operations/socket-client.ts';

const ANSWER_MS_MAX = 20_000;

/** Everything that can be looked at from outside, and what a server tells that runs. Nothing is changed. */
export async function examine(env: Environment): Promise<Finding[]> {
  const config = usableConfig(env);
  return config.PROFILE === 'distributed' ? examineServices(env, config) : examineDirectory(env, config);
}

/** What a node can serve. */
export async function examineNode(address: string, env: Environment): Promise<Finding[]> {
  const { checkNode } = await import('../doctor/node-check.ts');
  return checkNode(address, registryOf(usableConfig(env)));
}

/** The settings without those that are wrong, which have their defaults here. */
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
  if (owner !== null) return [...own, ...directory, silentOwner(DATA_DIR, owner)];
  const process = fine('process', 'none has the data directory open');
  const isBlocked = directory.some(({ state }) => state === 'failed');
  const store = isBlocked ? [] : await lookAtStore(config);
  const port = await checkPort(serverAddress(config));
  return [...own, ...directory, process, ...store, port, await checkMail(config)];
}

/** The settings are checked on their own. */
function registryOf(config: Config): Registry {
  try {
    return readRegistry(config);
  } catch {
    // The check of the settings reports the file that cannot be read.
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
        : warning('process', `${text}, and this command is of ${VERSION}`, 'restart the server');
    return [process, ...findings];
  } catch (error) {
    const remedy = 'wait until it has started, or restart it';
    return [failed('process', `a server has the data directory open: ${reasonOf(error)}`, remedy)];
  }
}

const silentOwner = (directory: string, pid: number) =>
  warning(
    'process',
    `process ${pid} (${programOf(pid)}) has ${directory} open and takes no commands`,
    'a command ends by itself, and a server that starts answers soon; otherwise stop that process, and run this again',
  );

/** The engine is a library, which may be what is broken: it is loaded only here. */
async function lookAtStore(config: Config): Promise<Finding[]> {
  if (!holdsStore(config.DATA_DIR)) {
    return [fine('store', 'nothing is stored yet; `chain-metrics start --demo` makes something to look at')];
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
    const remedy = 'end what has it open; if nothing has, restore the last backup into another directory';
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
    checkRedis(config, (theirs, asked, answered) => compareClocks('Redis', theirs, asked, answered)),
    checkClickHouse(config, (store) => checkStore(store, systemClock, registryOf(config))),
    checkPort(serverAddress(config)),
    checkPort(operatorAddress(config)),
    checkMail(config),
  ]);
  return [...checkSettings(env, config), ...found.flat()];
}
