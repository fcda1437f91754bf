with roles as (
    select relay_chain, chain, date, signer_key as account, 'signed' as role
    from {{ source('raw', 'extrinsics') }}
    where signed

    union all by name

    select relay_chain, chain, date, ethereum_from as account, 'ethereum_sent' as role
    from {{ source('raw', 'extrinsics') }}
    where ethereum

    union all by name

    select relay_chain, chain, date, ethereum_to as account, 'ethereum_received' as role
    from {{ source('raw', 'extrinsics') }}
    where ethereum

    union all by name

    select relay_chain, chain, date, counterparty as account, 'received' as role
    from {{ source('raw', 'events') }}
    where pallet = 'balances' and event = 'Transfer' and refused = ''
),

-- On an asset hub an Ethereum address counts as the account that the runtime gives to it.
accounts as (
    select
        relay_chain, chain, date, role,
        case when length(account) = 42 and chain like 'asset-hub-%' then account || repeat('ee', 12) else account end as account
    from roles
),

days as (
    select distinct relay_chain, chain, date
    from {{ source('raw', 'blocks') }}
)

select
    relay_chain, chain, date,
    count(distinct account) filter (role = 'signed') as num_accounts_active_signed,
    count(distinct account) filter (role in ('signed', 'received')) as num_accounts_active_signed_plus_received,
    count(distinct account) filter (role in ('signed', 'ethereum_sent')) as num_accounts_active_signed_combined,
    count(distinct account) as num_accounts_active_signed_plus_received_combined,
    count(distinct account) filter (role in ('ethereum_sent', 'ethereum_received')) as unique_evm_addresses
from days
left join accounts using (relay_chain, chain, date)
group by all
