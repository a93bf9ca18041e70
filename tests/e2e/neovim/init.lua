-- What a user's own configuration holds: rust-analyzer, and copydesk beside it.
vim.lsp.config('rust_analyzer', {
  cmd = { 'rust-analyzer' },
  filetypes = { 'rust' },
  root_markers = { 'Cargo.toml' },
  capabilities = { experimental = { serverStatusNotification = true } },
  handlers = {
    ['experimental/serverStatus'] = function(_, status)
      if status.quiescent then vim.g.rust_analyzer_is_ready = true end
    end,
  },
})
vim.lsp.config('copydesk', {
  cmd = { vim.env.COPYDESK_TEST_BINARY },
  filetypes = { 'rust' },
  root_markers = { 'Cargo.toml' },
  init_options = {
    model = 'builtin/quickfix',
    language_servers = { ['rust-analyzer'] = { start = 'open' } },
  },
})
vim.lsp.enable({ 'rust_analyzer', 'copydesk' })
